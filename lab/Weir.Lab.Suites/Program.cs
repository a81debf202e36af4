using Weir.Lab.Suites;
using Weir.Lab.Suites.Auto;
using Weir.Lab.Suites.Ratios;
using Weir.Lab.Suites.SelfChecks;
using Weir.Lab.Suites.Workloads;
using Weir.Lab.Suites.Young;

if (args is [YoungCommand.Name, ..])
{
    // First of all: in the processes that it starts, nothing may have run before.
    return await YoungCommand.Create().Parse(args).InvokeAsync();
}

// Before any child process starts, so that all of them spin the same number of times.
SpinWork.Publish();
if (args is [RatiosCommand.Name or SelfCheckCommand.Name, ..])
{
    return await RatiosCommand.Create().Parse(args).InvokeAsync();
}

if (args is [AutoCommand.Name, ..])
{
    return await AutoCommand.Create().Parse(args).InvokeAsync();
}

return BenchmarkHost.Run(args);
