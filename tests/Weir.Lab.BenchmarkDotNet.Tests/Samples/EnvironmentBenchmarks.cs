using System.Diagnostics;
using System.Runtime;
using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark that fails unless its process has the environment that was asked for.</summary>
/// <remarks>Not the server's collector: a process on one processor never has it.</remarks>
[GcConcurrent(false)]
public class EnvironmentBenchmarks
{
    public const string Variable = "WEIR_SAMPLE";

    [GlobalSetup]
    public void Check()
    {
        Require(GCSettings.LatencyMode == GCLatencyMode.Batch, "no concurrent collections");
        Require(Environment.GetEnvironmentVariable(Variable) == "given", "the variable");
        if (OperatingSystem.IsLinux() || OperatingSystem.IsWindows())
        {
            Require(Process.GetCurrentProcess().ProcessorAffinity == 1, "the first processor alone");
        }
    }

    [Benchmark]
    public int Nothing() => 1;

    private static void Require(bool holds, string what)
    {
        if (!holds)
        {
            throw new InvalidOperationException($"The process does not have {what}.");
        }
    }
}
