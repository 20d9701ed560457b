import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("ps", "worker"):
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                         task_index=resolver.task_id, protocol="grpc").join()

def numbers(_):
    x = tf.random.uniform((64, 1))
    return tf.data.Dataset.from_tensors((x, 3 * x + 1)).repeat()

strategy = tf.distribute.ParameterServerStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
model.fit(tf.keras.utils.experimental.DatasetCreator(numbers), epochs=5, steps_per_epoch=20)
