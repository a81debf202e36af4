using BenchmarkDotNet.Toolchains.DotNetCli;

namespace Weir.Lab.Benchmarks.Building;

/// <summary>Builds and runs benchmarks out of process on .NET 10.</summary>
internal static class LabToolchain
{
    /// <summary>The name of the target framework.</summary>
    public const string Moniker = "net10.0";

    /// <summary>The toolchain. There is only one, because cases are built together that share a toolchain.</summary>
    public static readonly IToolchain Instance =
        new Toolchain(Moniker, new LabGenerator(), new DotNetCliBuilder(Moniker), new StoppableExecutor(new DotNetCliExecutor(null!)));
}
