module pumice/webhookload

go 1.24
