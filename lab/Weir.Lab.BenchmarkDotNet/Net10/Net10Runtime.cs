using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;

namespace Weir.Lab.Benchmarks.Net10;

/// <summary>.NET 10, which BenchmarkDotNet 0.14 does not know. Under a number it knows, its diagnosers do not take it for something ancient.</summary>
public sealed class Net10Runtime : Runtime
{
    /// <summary>The runtime.</summary>
    public static readonly Net10Runtime Instance = new();

    private Net10Runtime()
        : base(RuntimeMoniker.Net90, Net10Toolchain.Moniker, ".NET 10.0")
    {
    }
}
