global using ItemCall = System.Func<int, System.Threading.CancellationToken, System.Threading.Tasks.ValueTask<int>>;
