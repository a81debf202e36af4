using System.Diagnostics;

#if WEIR_RESILIENCE
namespace Weir.Resilience;
#else
namespace Weir.Core;
#endif

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

    /// <summary>The same for a place whose name is where it stands.</summary>
    [Conditional("DEBUG")]
    public static void Pass(string file, int line, object owner) => Passed?.Invoke($"{Path.GetFileName(file)}:{line}", owner);
}
