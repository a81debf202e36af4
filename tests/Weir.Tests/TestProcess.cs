using System.Runtime.CompilerServices;

namespace Weir.Tests;

internal static class TestProcess
{
    /// <summary>Tests that block threads on purpose must not wait for the pool's slow growth.</summary>
    [ModuleInitializer]
    internal static void GiveThePoolThreads() => ThreadPool.SetMinThreads(64, 64);
}
