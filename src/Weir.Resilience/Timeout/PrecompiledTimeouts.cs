namespace Weir.Resilience;

/// <summary>
/// Never called: names the types whose code is compiled ahead of time together with this assembly, for references, which share their code, and for numbers. See
/// <c>Weir.Core.Dispatch.Precompiled</c>.
/// </summary>
internal static class PrecompiledTimeouts
{
    private static readonly Type[] Types =
    [
        typeof(TimeoutPolicy<object>), typeof(TimeoutPolicy<int>), typeof(TimeoutScope<object>), typeof(TimeoutScope<int>),
    ];

    public static void All() => _ = Types;
}
