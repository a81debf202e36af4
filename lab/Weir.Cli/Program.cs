using System.Runtime.InteropServices;
using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Lab.Suites;

if (await SuiteCommands.MeasureHereAsync(args) is { } code)
{
    return code;
}

using CancellationTokenSource stop = new();

// The first signal asks the command to stop and report. The second is left to the system, which ends the process.
void Stop(PosixSignalContext signal)
{
    signal.Cancel = !stop.IsCancellationRequested;
    stop.Cancel();
}

using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
return await WeirApp.RunAsync(args, CliHost.OfProcess(stop.Token));
