global using ItemCall = System.Func<int, System.Threading.CancellationToken, System.Threading.Tasks.ValueTask<int>>;
global using Spread = Weir.Lab.Statistics.Spread;
