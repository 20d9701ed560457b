# External libraries, all through pkg-config.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBCURL REQUIRED IMPORTED_TARGET libcurl>=7.88)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls>=3.7)
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET libcrypto>=3.0)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7.15)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1>=0.2)
