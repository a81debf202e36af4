using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.App;
using Weir.Cli.Kit.Hosting;

return await CliApp.UntilSignalAsync(stop => WeirApp.RunAsync(args, new WeirHost(CliHost.OfProcess(WeirApp.Name, stop))));
