using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.DotNetCli;

namespace Weir.Lab.Benchmarks.Net10;

/// <summary>Builds and runs benchmarks out of process on .NET 10.</summary>
/// <remarks>A plain toolchain: that of the package asks which SDK belongs to its runtime, and does not know the answer.</remarks>
public static class Net10Toolchain
{
    /// <summary>The name of the target framework.</summary>
    public const string Moniker = "net10.0";

    /// <summary>The toolchain. There is only one, because cases are built together that share a toolchain.</summary>
    public static readonly IToolchain Instance =
        new Toolchain(Moniker, new Net10Generator(), new DotNetCliBuilder(Moniker), new StoppableExecutor(new DotNetCliExecutor(null!)));
}
