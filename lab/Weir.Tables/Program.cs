using Weir.Cli.Kit.App;
using Weir.Cli.Kit.Hosting;
using Weir.Tables.App;

return await CliApp.UntilSignalAsync(stop => TablesApp.RunAsync(args, CliHost.OfProcess(TablesApp.Name, stop)));
