using System.Runtime.CompilerServices;

namespace Weir.Core.Threads;

/// <summary>
/// Runs work on threads on which no caller is above it. The engine should not throw there, but there may be no memory, and clocks may be the user's. What is
/// thrown goes to the owner of the work, and never ends the process.
/// </summary>
/// <remarks>
/// Whatever is given to the pool, to a timer or to a token as a callback either runs through here or catches everything itself. A test reads the sources for
/// places that do neither.
/// </remarks>
internal static class Unattended
{
    /// <summary>Runs work of an owner.</summary>
    /// <param name="owner">Whose work it is. If it is no <see cref="IUnattended"/>, nobody waits for the work.</param>
    /// <param name="work">The work.</param>
    /// <param name="place">Where it comes from, for tests.</param>
    public static void Run<T>(T owner, Action<T> work, [CallerMemberName] string place = "")
        where T : class
    {
        try
        {
            FaultPoint.Pass(place, owner);
            work(owner);
        }
        catch (Exception e)
        {
            TryReport(owner, e);
        }
    }

    /// <summary>The same for a callback that needs a token.</summary>
    public static void Run<T>(T owner, Action<T, CancellationToken> work, CancellationToken token)
        where T : class
    {
        try
        {
            FaultPoint.Pass(nameof(CancellationToken), owner);
            work(owner, token);
        }
        catch (Exception e)
        {
            TryReport(owner, e);
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
