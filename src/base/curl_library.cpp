#include "base/curl_library.h"

#include <dlfcn.h>

#include <string>

namespace ioc_exporter {

Result<CurlLibrary> load_curl_library() {
  const std::string action = "load libcurl";
  void* const library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return error_in_words(action + ": " + ::dlerror());
  bool whole = true;
  const auto find = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    whole &= function != nullptr;
  };
  CurlLibrary curl{};
  find(curl.global_init, "curl_global_init");
  find(curl.init, "curl_easy_init");
  find(curl.setopt, "curl_easy_setopt");
  find(curl.perform, "curl_easy_perform");
  find(curl.getinfo, "curl_easy_getinfo");
  find(curl.strerror, "curl_easy_strerror");
  find(curl.cleanup, "curl_easy_cleanup");
  find(curl.slist_append, "curl_slist_append");
  find(curl.slist_free_all, "curl_slist_free_all");
  find(curl.set_tls_info_callback, "SSL_CTX_set_info_callback");
  return whole ? Result<CurlLibrary>(curl) : error_in_words(action + ": it lacks a function");
}

}  // namespace ioc_exporter
