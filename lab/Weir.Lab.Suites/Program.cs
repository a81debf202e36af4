using BenchmarkDotNet.Running;
using Weir.Lab.Suites;
using Weir.Lab.Suites.Auto;
using Weir.Lab.Suites.Ratios;
using Weir.Lab.Suites.Workloads;

// Before any child process starts, so that all of them spin the same number of times.
SpinWork.Publish();
if (args is [RatiosCommand.Name, ..])
{
    return await RatiosCommand.Create().Parse(args).InvokeAsync();
}

if (args is [AutoCommand.Name, ..])
{
    return await AutoCommand.Create().Parse(args).InvokeAsync();
}

// 3 when a benchmark has no result, which is so when its arms do unequal work.
return BenchmarkSwitcher.FromAssembly(typeof(Suite).Assembly).Run(args)
    .Any(static summary => summary.HasCriticalValidationErrors || summary.Reports.Any(static report => !report.Success)) ? 3 : 0;
