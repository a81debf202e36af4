using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Core;

/// <summary>
/// Runs work on threads on which no caller is above it. It should not throw there, but there may be no memory, clocks may be the user's, and tokens have
/// callbacks of the user. What is thrown goes to the owner of the work, and never ends the process, nor reaches whoever cancels a token.
/// </summary>
/// <remarks>
/// Whatever is given to the pool, to a timer or to a token as a callback either runs through here or catches everything itself. A test reads the sources for
/// places that do neither. In Debug builds, each call here is a <see cref="FaultPoint"/>, whose name is its file and line.
/// </remarks>
internal static class Unattended
{
    /// <summary>Runs work of an owner. If the owner is no <see cref="IUnattended"/>, nobody waits for the work.</summary>
    public static void Run<T>(
        T owner,
        Action<T> work
#if DEBUG
        , [CallerFilePath] string file = "", [CallerLineNumber] int line = 0)
#else
        )
#endif
        where T : class
    {
        try
        {
#if DEBUG
            FaultPoint.Pass(file, line, owner);
#endif
            work(owner);
        }
        catch (Exception e)
        {
            TryReport(owner, e);
        }
    }

    /// <summary>Runs the callback of a token, which needs to know which one it was.</summary>
    public static void Run<T>(
        T owner,
        Action<T, CancellationToken> work,
        CancellationToken token
#if DEBUG
        , [CallerFilePath] string file = "", [CallerLineNumber] int line = 0)
#else
        )
#endif
        where T : class
    {
        try
        {
#if DEBUG
            FaultPoint.Pass(file, line, owner);
#endif
            work(owner, token);
        }
        catch (Exception e)
        {
            TryReport(owner, e);
        }
    }

    /// <summary>Runs work whose failure needs more than telling its owner: somebody waits for just this.</summary>
    public static void Run<T>(
        T owner,
        Action<T> work,
        Action<T, Exception> failed
#if DEBUG
        , [CallerFilePath] string file = "", [CallerLineNumber] int line = 0)
#else
        )
#endif
        where T : class
    {
        try
        {
#if DEBUG
            FaultPoint.Pass(file, line, owner);
#endif
            work(owner);
        }
        catch (Exception e)
        {
            try
            {
                failed(owner, e);
            }
            catch (Exception again)
            {
                TryReport(owner, again);
            }
        }
    }

    /// <summary>Tells an owner what its work threw.</summary>
    /// <returns>False if there is nobody to tell, or no memory to do it with.</returns>
    public static bool TryReport(object? owner, Exception error)
    {
        try
        {
            (owner as IUnattended)?.WorkFailed(error);
            return owner is IUnattended;
        }
        catch (Exception)
        {
            // The caller may try again.
            return false;
        }
    }
}

/// <summary>
/// What has work on threads on which no caller is above it: those of timers and of the pool, and its own. What such work throws would end the process; see
/// <see cref="Unattended"/>.
/// </summary>
internal interface IUnattended
{
    /// <summary>Work of this threw, which it should not. This fails with it, and releases everybody who waits for it.</summary>
    void WorkFailed(Exception error);
}

/// <summary>
/// Places where tests let the library fail as it would without memory, or hold it up between two steps. Nothing of them is left in a Release build.
/// </summary>
internal static class FaultPoint
{
    /// <summary>Raised at each place with its name and whose work it is. For tests only; others run meanwhile, so a test must know its own.</summary>
    public static event Action<string, object>? Passed;

    /// <summary>The library passes a place.</summary>
    [Conditional("DEBUG")]
    public static void Pass(string place, object owner) => Passed?.Invoke(place, owner);

    /// <summary>The library passes a place whose name is where it stands: its file and line.</summary>
    [Conditional("DEBUG")]
    public static void Pass(string file, int line, object owner) => Passed?.Invoke($"{Path.GetFileName(file)}:{line}", owner);
}

/// <summary>Cancels a source whose callbacks are user code. Their exceptions are not part of any outcome.</summary>
internal static class SafeCancel
{
    /// <summary>Runs the callbacks here.</summary>
    public static void Now(CancellationTokenSource source)
    {
        try
        {
            source.Cancel();
        }
        catch (Exception e) when (e is AggregateException or ObjectDisposedException)
        {
            // See above; or whoever had the source has ended.
        }
    }

    /// <summary>Cancels the token now and runs the callbacks on the pool, so that none can delay the current thread.</summary>
    public static void Later(CancellationTokenSource source)
    {
        Task callbacks = source.CancelAsync();
        if (!callbacks.IsCompletedSuccessfully)
        {
            _ = ObserveAsync(callbacks);
        }
    }

    private static async Task ObserveAsync(Task callbacks) =>
        await callbacks.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
}
