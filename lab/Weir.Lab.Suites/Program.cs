using Weir.Lab.Suites;
using Weir.Lab.Suites.Ratios;
using Weir.Lab.Suites.SelfChecks;
using Weir.Lab.Suites.Workloads;

if (args is [RatiosCommand.Name or SelfCheckCommand.Name, ..])
{
    // Before any child process starts, so that all of them spin the same number of times.
    SpinWork.Publish();
    return await RatiosCommand.Create().Parse(args).InvokeAsync();
}

return BenchmarkHost.Run(args);
