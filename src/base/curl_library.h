// libcurl's functions. It is loaded when the first of them is needed: Debian's brings 25 other
// libraries and 5 MB of memory, which the main process does not need: it sends no requests.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "base/result.h"

namespace ioc_exporter {

struct CurlLibrary {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) init;
  decltype(&::curl_easy_setopt) setopt;
  decltype(&::curl_easy_perform) perform;
  decltype(&::curl_easy_getinfo) getinfo;
  decltype(&::curl_easy_strerror) strerror;
  decltype(&::curl_easy_cleanup) cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::SSL_CTX_set_info_callback) set_tls_info_callback;  // of the OpenSSL that it uses
};

// The static binary has it built in, and another definition of this: static_binary.cpp.
Result<CurlLibrary> load_curl_library();

}  // namespace ioc_exporter
