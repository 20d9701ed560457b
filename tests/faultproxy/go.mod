module pumice/faultproxy

go 1.24
