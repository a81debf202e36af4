namespace Weir.Cli.Profiling;

/// <summary>
/// Which asynchronous method awaits which, from the runtime's events of tasks. The time of an await counts once, for what the innermost method awaits; the
/// methods that await that one are those that it holds.
/// </summary>
internal sealed class AwaitChains
{
    private const string Other = "a task that others complete";

    private readonly Dictionary<int, string?> _methods = [];
    private readonly Dictionary<int, string> _named = [];
    private readonly Dictionary<int, (int By, double At)> _waits = [];
    private readonly Dictionary<string, (int Times, double Seconds)> _chains = [];

    /// <summary>The platform gives a task a name.</summary>
    public void Name(int task, string name)
    {
        // Those of asynchronous methods have no namespace, so they are told by the stack of their await.
        if (name.StartsWith("Task.", StringComparison.Ordinal))
        {
            _named[task] = name == "Task.Delay" ? "a delay" : name;
        }
    }

    /// <summary>A method begins to await a task.</summary>
    /// <param name="task">What is awaited.</param>
    /// <param name="by">The task of the method.</param>
    /// <param name="method">Its name; <see langword="null"/> if it is the lab's.</param>
    /// <param name="at">When, in seconds.</param>
    public void Begin(int task, int by, string? method, double at)
    {
        if (by != 0)
        {
            _methods[by] = method;
            _waits[task] = (by, at);
        }
    }

    /// <summary>The task has ended, and its method goes on.</summary>
    public void End(int task, double at)
    {
        bool isOfAMethod = _methods.Remove(task);
        string awaited = _named.Remove(task, out string? name) ? name : Other;
        if (!_waits.Remove(task, out (int By, double At) wait) || isOfAMethod)
        {
            return;
        }

        // A method that awaits itself is no chain.
        List<string> chain = [awaited];
        HashSet<int> seen = [];
        for (int by = wait.By; seen.Add(by) && _methods.GetValueOrDefault(by) is { } method; by = _waits.GetValueOrDefault(by).By)
        {
            chain.Insert(0, method);
        }

        if (chain.Count > 1)
        {
            string frames = string.Join(ProfileStack.Separator, chain);
            (int times, double seconds) = _chains.GetValueOrDefault(frames);
            _chains[frames] = (times + 1, seconds + at - wait.At);
        }
    }

    /// <summary>The chains, the longest awaited first.</summary>
    /// <param name="most">How many at most.</param>
    public IReadOnlyList<ProfileAwait> Most(int most) =>
    [
        .. _chains.Select(static c => new ProfileAwait(c.Key, c.Value.Times, c.Value.Seconds))
            .OrderByDescending(static c => c.Seconds).ThenBy(static c => c.Frames, StringComparer.Ordinal).Take(most),
    ];
}
