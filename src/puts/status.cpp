#include "puts/status.h"

#include <array>

namespace ioc_exporter::puts {
namespace {

// By message number, which stands from bit 3 on (CA_EXTRACT_MSG_NO of caerr.h).
constexpr std::array<std::string_view, 63> kReasons{
    "normal",
    "too_many_connections",      // ECA_MAXIOC
    "unknown_host",              // ECA_UKNHOST
    "unknown_service",           // ECA_UKNSERV
    "socket_failed",             // ECA_SOCK
    "connection_failed",         // ECA_CONN
    "no_memory",                 // ECA_ALLOCMEM
    "unknown_channel",           // ECA_UKNCHAN
    "unknown_field",             // ECA_UKNFIELD
    "too_large",                 // ECA_TOLARGE
    "timeout",                   // ECA_TIMEOUT
    "not_supported",             // ECA_NOSUPPORT
    "string_too_big",            // ECA_STRTOBIG
    "channel_disconnected",      // ECA_DISCONNCHID
    "bad_type",                  // ECA_BADTYPE
    "channel_not_found",         // ECA_CHIDNOTFND
    "channel_retry",             // ECA_CHIDRETRY
    "internal_error",            // ECA_INTERNAL
    "local_operation_failed",    // ECA_DBLCLFAIL
    "get_failed",                // ECA_GETFAIL
    "put_failed",                // ECA_PUTFAIL
    "subscription_failed",       // ECA_ADDFAIL
    "bad_count",                 // ECA_BADCOUNT
    "bad_string",                // ECA_BADSTR
    "disconnected",              // ECA_DISCONN
    "channel_twice",             // ECA_DBLCHNL
    "not_in_event_routine",      // ECA_EVDISALLOW
    "get_at_search_failed",      // ECA_BUILDGET
    "needs_floating_point",      // ECA_NEEDSFP
    "monitor_overflow",          // ECA_OVEVFAIL
    "bad_monitor_id",            // ECA_BADMONID
    "new_address",               // ECA_NEWADDR
    "new_connection",            // ECA_NEWCONN
    "no_context",                // ECA_NOCACTX
    "defunct",                   // ECA_DEFUNCT
    "empty_string",              // ECA_EMPTYSTR
    "no_repeater",               // ECA_NOREPEATER
    "no_channel_message",        // ECA_NOCHANMSG
    "dialog_broken",             // ECA_DLCKREST
    "server_behind",             // ECA_SERVBEHIND
    "no_broadcast",              // ECA_NOCAST
    "bad_mask",                  // ECA_BADMASK
    "io_done",                   // ECA_IODONE
    "io_in_progress",            // ECA_IOINPROGRESS
    "bad_sync_group",            // ECA_BADSYNCGRP
    "put_callback_timed_out",    // ECA_PUTCBINPROG
    "no_read_access",            // ECA_NORDACCESS
    "no_write_access",           // ECA_NOWTACCESS
    "anachronism",               // ECA_ANACHRONISM
    "no_search_address",         // ECA_NOSEARCHADDR
    "no_conversion",             // ECA_NOCONVERT
    "bad_channel_id",            // ECA_BADCHID
    "bad_function",              // ECA_BADFUNCPTR
    "is_attached",               // ECA_ISATTACHED
    "unavailable_in_server",     // ECA_UNAVAILINSERV
    "channel_destroyed",         // ECA_CHANDESTROY
    "bad_priority",              // ECA_BADPRIORITY
    "not_threaded",              // ECA_NOTTHREADED
    "array_over_16k",            // ECA_16KARRAYCLIENT
    "connect_sequence_timeout",  // ECA_CONNSEQTMO
    "unresponsive_timeout",      // ECA_UNRESPTMO
    "other",
    "cancelled",  // IOCX_FAILED_CANCELLED
};

}  // namespace

std::string_view ca_status_reason(std::uint32_t status) {
  const std::uint32_t message = status >> 3;
  return message < kReasons.size() ? kReasons[message] : "other";
}

}  // namespace ioc_exporter::puts
