using Weir.Cli.Kit.App;
using Weir.Tables.App;

return await CliApp.UntilSignalAsync(stop => TablesApp.RunAsync(args, CliHost.OfProcess(TablesApp.Name, stop)));
