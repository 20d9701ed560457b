"""The objects of a kind as they are now, kept by a watch."""

from harness.witness import Watch


class Store(Watch):
    """`objects` by UID; changed() is called by the watch's thread after each change."""

    def __init__(self, ask, changed=lambda: None):
        self.objects = {}
        self._listed = None
        self._changed = changed
        super().__init__(ask, self._see)

    def _list(self):
        # What went while the watch was broken is not in the list.
        self._listed = {}
        super()._list()
        self.objects, self._listed = self._listed, None
        self._changed()

    def _see(self, verb, found):
        uid = found["metadata"]["uid"]
        if self._listed is not None:
            self._listed[uid] = found
            return
        objects = dict(self.objects)
        objects.pop(uid, None)
        if verb != "DELETED":
            objects[uid] = found
        self.objects = objects
        self._changed()

    def all(self):
        """The objects, in no particular order."""
        return list(self.objects.values())

    def named(self, name):
        """The object of that name, or None."""
        return next((found for found in self.all() if found["metadata"]["name"] == name), None)


def listing(function, *arguments, **options):
    """A function of the official client as Store asks it."""
    return lambda **more: function(*arguments, _preload_content=False, **options, **more)
