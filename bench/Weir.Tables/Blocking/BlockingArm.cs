namespace Weir.Tables.Blocking;

/// <summary>One way to make calls that block their thread.</summary>
/// <param name="Pool">The pool that it finds.</param>
/// <param name="Kind">Operators or blocks: what is compared with each other.</param>
/// <param name="Milliseconds">How long a call blocks.</param>
/// <param name="Limit">How many may be made at once.</param>
/// <param name="Name">Who makes them.</param>
/// <param name="RunAsync">Makes as many calls as are asked for.</param>
internal sealed record BlockingArm(PoolState Pool, string Kind, int Milliseconds, int Limit, string Name, Func<int, int, Action<int>, Task> RunAsync)
{
    /// <summary>The arm's name among all.</summary>
    public string Key => Invariant($"{Work}/{Milliseconds}/{Limit}/{Name}");

    /// <summary>The table that it belongs to.</summary>
    public string Work => $"{Kind}, {Pool.ToString().ToLowerInvariant()} pool";

    /// <summary>
    /// How many calls are made: enough for about a second where threads are there, and for some seconds where the pool has to add them. Where they are there,
    /// no multiple of the limit: otherwise one late thread would add the time of a whole call.
    /// </summary>
    public int Calls => Pool == PoolState.Wide
        ? (Limit * Math.Max(2, 1_000 / Milliseconds)) - (Limit / 4)
        : (Milliseconds, Limit) switch
        {
            (10, 4) => 300,
            (10, _) => 600,
            (100, 4) => 48,
            (100, 16) => 96,
            (100, _) => 128,
            (_, 4) => 16,
            (_, 16) => 48,
            _ => 64,
        };
}
