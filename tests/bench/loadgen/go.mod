module pumice/loadgen

go 1.24
