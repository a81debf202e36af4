using System.Reflection;
using Weir.Core;
using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>What a runtime learned about a processor in earlier calls. The next call starts with it.</summary>
/// <param name="Sample">The figures of the last look.</param>
/// <param name="InFlight">How many of its items could be in flight.</param>
/// <param name="IsTiny">Whether they ran one after the other because they are tiny.</param>
internal sealed record AutoProfile(AutoSample Sample, int InFlight, bool IsTiny = false);

/// <summary>The profiles of a runtime, by the method that processes the items.</summary>
internal sealed class AutoProfiles
{
    // A program has few processors. One that generates methods at run time must not fill the memory.
    private const int Most = 256;

    // Not a concurrent dictionary, which takes a first call as long as all the rest: it makes an event source to tell of its locks.
    private readonly Dictionary<MethodInfo, AutoProfile> _profiles = [];
    private readonly Lock _lock = new();

    public AutoProfile? Find(Delegate processor)
    {
        lock (_lock)
        {
            if (_profiles.Count == 0)
            {
                return null;
            }
        }

        MethodInfo method = MethodOf(processor);
        lock (_lock)
        {
            return _profiles.GetValueOrDefault(method);
        }
    }

    public void Keep(Delegate processor, AutoProfile profile)
    {
        MethodInfo method = MethodOf(processor);
        lock (_lock)
        {
            if (_profiles.Count >= Most)
            {
                _profiles.Clear();
            }

            _profiles[method] = profile;
        }
    }

    // The user's own method: the adapter around calls that return a task is the same for all of them.
    private static MethodInfo MethodOf(Delegate processor) => TaskCalls.Inner(processor).Method;
}
