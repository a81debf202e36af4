using System.Diagnostics;
using System.Runtime;
using Weir.Lab.ColdStart;

// The clock starts behind everything that all arms have alike: the runtime, this method and the table of arms.
if (args is not [var key] || ColdArms.Find(key) is not { } arm)
{
    Console.Error.WriteLine($"Give one of: {string.Join("; ", ColdArms.All.Select(static arm => arm.Key))}.");
    return 1;
}

Stopwatch.GetTimestamp();
long methods = JitInfo.GetCompiledMethodCount();
TimeSpan compiling = JitInfo.GetCompilationTime();
long start = Stopwatch.GetTimestamp();
long sum = await arm.Call();
TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
methods = JitInfo.GetCompiledMethodCount() - methods;
compiling = JitInfo.GetCompilationTime() - compiling;
if (sum != ColdArms.Sum)
{
    Console.Error.WriteLine($"The sum of the results is {sum}, but must be {ColdArms.Sum}.");
    return 2;
}

Console.WriteLine(new ColdReading(elapsed.TotalNanoseconds, methods, compiling.TotalNanoseconds));
return 0;
