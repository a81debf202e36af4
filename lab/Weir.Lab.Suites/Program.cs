using Weir.Lab.Suites;
using Weir.Lab.Suites.Auto;
using Weir.Lab.Suites.Ratios;
using Weir.Lab.Suites.SelfChecks;
using Weir.Lab.Suites.Workloads;

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
