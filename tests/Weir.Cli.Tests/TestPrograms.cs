using System.Runtime.CompilerServices;

namespace Weir.Cli.Tests;

internal static class TestPrograms
{
    /// <summary>The programs that tests start do not live long enough to get back what a profile of them costs.</summary>
    [ModuleInitializer]
    internal static void StartWithoutProfile() => Environment.SetEnvironmentVariable("DOTNET_TieredPGO", "0");
}
