// libcas: the class whose typeinfo a gateway imports.
#include "casdef.h"

caServer::~caServer() = default;
