/*
 * pumice-webhook: admission of Jobs, PodGroups and Queues.
 */
#include "webhook/app.h"

int main(int argc, char **argv)
{
    return process_main(&webhook_process, argc, argv);
}
