/*
 * The plugins of a Job: see jobplugin.h.
 */
#include "api/jobplugin.h"
#include "base/alloc.h"
#include "base/ensure.h"

static const struct job_plugin_spec specs[] = {
    {"env", {{NULL, GOFLAG_TEXT, NULL}}},
    {"svc",
     {{"publish-not-ready-addresses", GOFLAG_BOOL, "false"},
      {"disable-network-policy", GOFLAG_BOOL, "false"},
      {"inject-hosts-env", GOFLAG_BOOL, "true"}}},
    {"ssh",
     {{"ssh-key-file-path", GOFLAG_TEXT, "/root/.ssh"},
      {"ssh-private-key", GOFLAG_TEXT, ""},
      {"ssh-public-key", GOFLAG_TEXT, ""},
      {"ssh-port", GOFLAG_TEXT, "22"}}},
    {"tensorflow",
     {{"ps", GOFLAG_TEXT, "ps"},
      {"worker", GOFLAG_TEXT, "worker"},
      {"chief", GOFLAG_TEXT, "chief"},
      {"evaluator", GOFLAG_TEXT, "evaluator"},
      {"port", GOFLAG_NUMBER, "2222"}}},
    {"pytorch",
     {{"master", GOFLAG_TEXT, "master"},
      {"worker", GOFLAG_TEXT, "worker"},
      {"port", GOFLAG_NUMBER, "23456"},
      {"wait-master-enabled", GOFLAG_BOOL, "false"},
      {"wait-master-timeout", GOFLAG_NUMBER, "300"},
      {"wait-master-image", GOFLAG_TEXT, "busybox:1.36.1"}}},
    {"mpi",
     {{"master", GOFLAG_TEXT, "master"},
      {"worker", GOFLAG_TEXT, "worker"},
      {"port", GOFLAG_NUMBER, "22"}}},
    {"ray",
     {{"head", GOFLAG_TEXT, "head"},
      {"worker", GOFLAG_TEXT, "worker"},
      {"headContainer", GOFLAG_TEXT, "head"},
      {"workerContainer", GOFLAG_TEXT, "worker"},
      {"port", GOFLAG_NUMBER, "6379"},
      {"dashboardPort", GOFLAG_NUMBER, "8265"},
      {"clientPort", GOFLAG_NUMBER, "10001"}}},
    {"hcclrank", {{"master", GOFLAG_TEXT, "master"}, {"worker", GOFLAG_TEXT, "worker"}}},
};

const struct job_plugin_spec *job_plugin_spec_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        if (str_is(name, specs[i].name))
            return &specs[i];
    }
    return NULL;
}

const struct goflag *job_plugin_flag(const struct job_plugin_spec *spec, const char *name)
{
    const struct goflag *flag = spec->flags;

    while (flag->name && strcmp(flag->name, name) != 0)
        flag++;
    ENSURE(flag->name);
    return flag;
}
