using Weir.Cli.App;
using Weir.Cli.Kit.App;

// Windows of load: many short ones decide more than a few long ones, above all beside other programs.
LoadHost load = new() { Trials = new TrialOptions { MinimumWindow = TimeSpan.FromSeconds(0.3) } };
return await CliApp.UntilSignalAsync(stop => WeirApp.RunAsync(args, new WeirHost(CliHost.OfProcess(WeirApp.Name, stop)) { Load = load }));
