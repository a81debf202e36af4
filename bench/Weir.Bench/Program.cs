using Weir.Bench;
using Weir.Cli.Kit.App;

return await CliApp.UntilSignalAsync(stop => BenchApp.RunAsync(args, CliHost.OfProcess(BenchApp.Name, stop)));
