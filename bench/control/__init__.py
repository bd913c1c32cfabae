"""The flow control beside plain PI loops on one simulated branch, with the noise, lags and dead bands of a real one."""
