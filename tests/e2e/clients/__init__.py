"""Programs as users have them, with the client libraries that they use; run inside of the cluster's network."""
