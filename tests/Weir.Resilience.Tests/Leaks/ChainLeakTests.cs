using System.Runtime.CompilerServices;

namespace Weir.Resilience.Tests.Leaks;

/// <summary>Does a chain that lives on, or what it shares with others, hold an ended call?</summary>
public class ChainLeakTests
{
    private static readonly AsyncLocal<object?> Context = new();

    public enum Ending
    {
        Succeeds,
        Fails,
        IsCancelled,
        TimesOut,
        TimesOutForever,
    }

    [Fact(Timeout = 120_000)]
    public async Task EndedCall_OfAnyChain_IsHeldByNothing()
    {
        RetryOptions retry = new() { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true };
        TimeSpan limit = TimeSpan.FromMilliseconds(20);
        RateLimitOptions rate = new() { TokensPerSecond = 1e6, BurstCapacity = 1e6 };
        SharedConcurrencyLimit shared = new(1);
        CircuitBreaker breaker = new(new CircuitBreakerOptions { FailureThreshold = int.MaxValue });
        (string Name, PolicyChain<object> Chain)[] chains =
        [
            ("AttemptTimeout", new(new() { AttemptTimeout = limit })),
            ("TotalTimeout", new(new() { TotalTimeout = limit })),
            ("Retry", new(new() { Retry = retry, AttemptTimeout = limit })),
            ("CircuitBreaker", new(new() { CircuitBreaker = breaker, TotalTimeout = limit })),
            ("ConcurrencyLimit", new(new() { ConcurrencyLimit = shared, TotalTimeout = limit })),
            ("RateLimit", new(new() { RateLimit = new TokenBucket(rate), TotalTimeout = limit })),
            ("all", new(new() { Retry = retry, CircuitBreaker = breaker, ConcurrencyLimit = shared, AttemptTimeout = limit, TotalTimeout = 10 * limit })),
        ];
        Held held = new();
        foreach ((string name, PolicyChain<object> chain) in chains)
        {
            foreach (Ending ending in Enum.GetValues<Ending>())
            {
                for (int i = 0; i < 2; i++)
                {
                    await CallAsync(held, chain, name, ending);
                }
            }
        }

        await held.GoneAsync();
        GC.KeepAlive(chains);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task CallAsync(Held held, PolicyChain<object> chain, string name, Ending ending)
    {
        Context.Value = held.Add($"{name}, {ending}: AsyncLocal value", new object());
        CancellationTokenSource caller = held.Add($"{name}, {ending}: token source", new CancellationTokenSource());
        object state = held.Add($"{name}, {ending}: state", new object());
        Func<object, CancellationToken, ValueTask<object>> call = held.Add(
            $"{name}, {ending}: call",
            (Func<object, CancellationToken, ValueTask<object>>)(async (given, token) =>
            {
                await Task.Yield();
                switch (ending)
                {
                    case Ending.Fails:
                        throw held.Add($"{name}, {ending}: exception", new TestException("as planned"));
                    case Ending.IsCancelled:
                        await caller.CancelAsync();
                        token.ThrowIfCancellationRequested();
                        break;
                    case Ending.TimesOut:
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                        break;
                    case Ending.TimesOutForever:
                        await new TaskCompletionSource().Task;
                        break;
                }

                GC.KeepAlive(given);
                return held.Add($"{name}, {ending}: result", new object());
            }));
        try
        {
            await chain.ExecuteAsync(call, state, caller.Token).AsTask().WithinAsync();
        }
        catch (Exception e) when (e is not TimeoutException)
        {
            held.Add($"{name}, {ending}: thrown exception", e);
        }
    }
}
