using Weir.Lab.Suites;
using Weir.Lab.Suites.Auto;
using Weir.Lab.Suites.Ratios;
using Weir.Lab.Suites.Workloads;

if (args is [RatiosCommand.Name, ..])
{
    // Before any child process starts, so that all of them spin the same number of times.
    SpinWork.Publish();
    return await RatiosCommand.Create().Parse(args).InvokeAsync();
}

if (args is [AutoCommand.Name, ..])
{
    return await AutoCommand.Create().Parse(args).InvokeAsync();
}

return BenchmarkHost.Run(args) ? 0 : 3;
