using Weir.Audit;
using Weir.Audit.Load;

return await CliApp.UntilSignalAsync(stop => AuditApp.RunAsync(args, new AuditHost(CliHost.OfProcess(AuditApp.Name, stop))));
