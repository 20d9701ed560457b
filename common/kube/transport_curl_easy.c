/*
 * Easy handles: every libcurl option the transport sets, and the callbacks for headers and bodies.
 *
 * Request bodies are read through a callback that cannot be rewound. That is on purpose: libcurl
 * repeats a request by itself when a connection it reused dies without an answer, and the API
 * server may have acted on the first one. Unable to rewind, it reports an error once a byte of the
 * body was sent, and the caller learns that the outcome is in doubt.
 */
#include "base/alloc.h"
#include "base/ensure.h"
#include "kube/transport_curl.h"
#include <openssl/ssl.h>

/* ---- headers --------------------------------------------------------------------------------- */

static const char *const content_types[] = {
    [KUBE_JSON] = "Content-Type: application/json",
    [KUBE_JSON_PATCH] = "Content-Type: application/json-patch+json",
    [KUBE_MERGE_PATCH] = "Content-Type: application/merge-patch+json",
    [KUBE_STRATEGIC_PATCH] = "Content-Type: application/strategic-merge-patch+json",
    [KUBE_APPLY_PATCH] = "Content-Type: application/apply-patch+yaml",
};

static void add_header(struct curl_slist **list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(*list, header);
    ENSURE(longer);
    *list = longer;
}

static struct curl_slist *header_list(const char *token, const char *content_type)
{
    struct curl_slist *list = NULL;
    add_header(&list, "Accept: application/json");
    add_header(&list, "Expect:");
    if (content_type)
        add_header(&list, content_type);
    if (token) {
        cleanup_free char *header = xasprintf("Authorization: Bearer %s", token);
        add_header(&list, header);
        explicit_bzero(header, strlen(header));
    }
    return list;
}

struct header_set *header_set_new(const char *token)
{
    struct header_set *set = xnew(struct header_set);
    set->refs = 1;
    set->read = header_list(token, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(content_types); i++)
        set->write[i] = header_list(token, content_types[i]);
    return set;
}

void header_set_unref(struct header_set *set)
{
    if (!set || --set->refs > 0)
        return;
    curl_slist_free_all(set->read);
    for (size_t i = 0; i < ARRAY_SIZE(set->write); i++)
        curl_slist_free_all(set->write[i]);
    free(set);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static bool is_good(const struct kube_call *call)
{
    return call->status >= 200 && call->status < 300;
}

/* The status line, "HTTP/2 200": libcurl calls once for each line, the last of which is empty. */
static size_t on_header(char *text, size_t size, size_t n, void *arg)
{
    struct kube_call *call = arg;
    struct str line = str_make(text, size * n);
    long code = 0;
    lane_note_byte(call->lane, call);
    if (str_empty(str_trim(line)) && call->spec.on_open && is_good(call) &&
        call->state == CALL_ACTIVE)
        call->spec.on_open(call->spec.arg);
    if (!str_starts(line, STR("HTTP/")))
        return line.n;
    if (!str_starts(line, STR("HTTP/2")))
        call->lane->http1 = true;
    if (curl_easy_getinfo(call->easy->curl, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK)
        call->status = (int)code;
    return line.n;
}

static bool is_streaming(const struct kube_call *call)
{
    return call->spec.on_data && is_good(call);
}

/* Anything but the full size makes libcurl end the transfer. */
static size_t on_body(char *text, size_t size, size_t n, void *arg)
{
    struct kube_call *call = arg;
    struct str data = str_make(text, size * n);
    if (call->state != CALL_ACTIVE)
        return 0;
    lane_note_byte(call->lane, call);
    if (!is_streaming(call))
        return buf_add_str(&call->answer, data) ? data.n : 0;
    if (!call->spec.on_data(data, call->spec.arg) && call->state == CALL_ACTIVE)
        call->stopped = true;
    return call->state == CALL_ACTIVE && !call->stopped ? data.n : 0;
}

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
    struct kube_call *call = arg;
    size_t room = size * n;
    size_t left = call->spec.body.n - call->body_sent;
    size_t count = left < room ? left : room;
    if (count > 0)
        memcpy(to, call->spec.body.p + call->body_sent, count);
    call->body_sent += count;
    return count;
}

/*
 * libcurl wants the body a second time: it is about to repeat the request on another connection.
 * That is refused in on_about_to_send and not here, because a refusal here ends in its function for
 * connecting, which then frees the connection under the transfers that share it (8.14).
 */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
    struct kube_call *call = arg;
    (void)offset;
    (void)origin;
    call->repeated = true;
    return CURL_SEEKFUNC_OK;
}

/* The connection is there; nothing of this request went over it yet. */
static int on_about_to_send(void *arg, char *remote_ip, char *local_ip, int remote_port,
                            int local_port)
{
    struct kube_call *call = arg;
    call->begun = true;
    (void)remote_ip;
    (void)local_ip;
    (void)remote_port;
    (void)local_port;
    return call->repeated ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

/* An option that libcurl refuses is a mistake of ours. */
#define set_option(curl, option, value)                                                            \
    ENSURE(curl_easy_setopt((curl), (option), (value)) == CURLE_OK)

static void set_blob(CURL *curl, CURLoption option, const struct buf *pem)
{
    /* The config outlives every handle. */
    struct curl_blob blob = {.data = pem->p, .len = pem->n, .flags = CURL_BLOB_NOCOPY};
    if (pem->n > 0)
        set_option(curl, option, &blob);
}

/*
 * OpenSSL would add the CA to our certificate as soon as it finds it among those that we trust. The
 * API server verifies what it was shown anew with each request, so that costs it a second signature
 * check every time. Intermediate certificates of the kubeconfig are shown all the same.
 */
static CURLcode show_no_more_than_given(CURL *curl, void *ssl_ctx, void *arg)
{
    (void)curl;
    (void)arg;
    (void)SSL_CTX_set_mode((SSL_CTX *)ssl_ctx, SSL_MODE_NO_AUTO_CHAIN);
    return CURLE_OK;
}

static void set_tls(CURL *curl, const struct kube_config *config)
{
    set_option(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    set_option(curl, CURLOPT_SSL_CTX_FUNCTION, show_no_more_than_given);
    set_option(curl, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    set_option(curl, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
    if (config->ca.n > 0) {
        set_option(curl, CURLOPT_CAINFO, NULL);
        set_option(curl, CURLOPT_CAPATH, NULL);
    }
    set_blob(curl, CURLOPT_CAINFO_BLOB, &config->ca);
    set_blob(curl, CURLOPT_SSLCERT_BLOB, &config->cert);
    set_blob(curl, CURLOPT_SSLKEY_BLOB, &config->key);
}

static void set_connection(CURL *curl, struct lane *lane)
{
    bool any = lane->transport->config->any_server;
    set_option(curl, CURLOPT_PROTOCOLS_STR, any ? "http,https" : "https");
    set_option(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    set_option(curl, CURLOPT_PIPEWAIT, any ? 0L : 1L);
    /* A call whose time is over would else wait for a name server that does not answer. */
    set_option(curl, CURLOPT_QUICK_EXIT, any ? 1L : 0L);
    set_option(curl, CURLOPT_PROXY, "");
    set_option(curl, CURLOPT_NOSIGNAL, 1L);
    set_option(curl, CURLOPT_FOLLOWLOCATION, 0L);
    set_option(curl, CURLOPT_PATH_AS_IS, 1L);
    set_option(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(CONNECT_TIMEOUT_NS / NSEC_PER_MSEC));
    set_option(curl, CURLOPT_MAXLIFETIME_CONN, 3600L);
    /* The API server closes what is idle for 90 s: do not race with that. */
    set_option(curl, CURLOPT_MAXAGE_CONN, 60L);
    set_option(curl, CURLOPT_BUFFERSIZE, 16384L);
    set_option(curl, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
    set_option(curl, CURLOPT_OPENSOCKETFUNCTION, lane_open_socket);
    set_option(curl, CURLOPT_OPENSOCKETDATA, lane);
    set_option(curl, CURLOPT_CLOSESOCKETFUNCTION, lane_close_socket);
    set_option(curl, CURLOPT_CLOSESOCKETDATA, lane);
}

struct easy *easy_new(struct lane *lane)
{
    const struct curl_transport *transport = lane->transport;
    struct easy *easy = xnew(struct easy);
    list_init(&easy->link);
    easy->curl = curl_easy_init();
    ENSURE(easy->curl);
    set_connection(easy->curl, lane);
    set_tls(easy->curl, transport->config);
    set_option(easy->curl, CURLOPT_CONNECT_TO, transport->connect_to);
    set_option(easy->curl, CURLOPT_USERAGENT, transport->user_agent);
    set_option(easy->curl, CURLOPT_ERRORBUFFER, easy->error);
    set_option(easy->curl, CURLOPT_HEADERFUNCTION, on_header);
    set_option(easy->curl, CURLOPT_WRITEFUNCTION, on_body);
    set_option(easy->curl, CURLOPT_READFUNCTION, on_read);
    set_option(easy->curl, CURLOPT_SEEKFUNCTION, on_seek);
    set_option(easy->curl, CURLOPT_PREREQFUNCTION, on_about_to_send);
    return easy;
}

void easy_free(struct easy *easy)
{
    curl_easy_cleanup(easy->curl);
    free(easy);
}

static void set_method(CURL *curl, const struct kube_call *call)
{
    enum kube_method method = call->spec.method;
    if (method == KUBE_GET || (method == KUBE_DELETE && call->spec.body.n == 0)) {
        set_option(curl, CURLOPT_HTTPGET, 1L);
    } else {
        set_option(curl, CURLOPT_POST, 1L);
        set_option(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->spec.body.n);
    }
    set_option(curl, CURLOPT_CUSTOMREQUEST, kube_method_name(method));
}

void easy_prepare(struct kube_call *call)
{
    CURL *curl = call->easy->curl;
    cleanup_free char *url =
        xasprintf("%s%.*s", call->lane->transport->url, STR_ARG(call->spec.path));
    call->easy->error[0] = '\0';
    set_option(curl, CURLOPT_URL, url);
    set_method(curl, call);
    set_option(curl, CURLOPT_HTTPHEADER,
               call->spec.method == KUBE_GET ? call->headers->read
                                             : call->headers->write[call->spec.content]);
    set_option(curl, CURLOPT_FRESH_CONNECT, call->fresh ? 1L : 0L);
    set_option(curl, CURLOPT_PRIVATE, call);
    set_option(curl, CURLOPT_HEADERDATA, call);
    set_option(curl, CURLOPT_WRITEDATA, call);
    set_option(curl, CURLOPT_READDATA, call);
    set_option(curl, CURLOPT_SEEKDATA, call);
    set_option(curl, CURLOPT_PREREQDATA, call);
}
