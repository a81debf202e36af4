using Weir.Cli.App;
using Weir.Cli.Kit.App;

return await CliApp.UntilSignalAsync(stop => WeirApp.RunAsync(args, new WeirHost(CliHost.OfProcess(WeirApp.Name, stop))));
