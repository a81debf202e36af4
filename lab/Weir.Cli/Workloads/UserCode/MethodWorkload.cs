using System.Runtime.ExceptionServices;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>Methods of a user's assembly, one for each group of workers. All workers share one object of a class that has instance methods.</summary>
internal sealed class MethodWorkload : ICopiedWorkload
{
    // A longer set-up is not made again: it may be anything.
    private static readonly TimeSpan LongestSetup = TimeSpan.FromMilliseconds(100);

    private readonly Func<IReadOnlyList<UserMember>> _again;
    private readonly IReadOnlyDictionary<string, string> _parameters;
    private readonly List<MethodCopy> _copies = [];
    private TimeSpan _setup;
    private int _round;

    /// <summary>Creates it.</summary>
    /// <param name="name">The name in reports.</param>
    /// <param name="methods">The methods.</param>
    /// <param name="again">The same methods, loaded once more.</param>
    /// <param name="parameters">What is set of their objects, by name.</param>
    /// <exception cref="BadInputException">There are two of one name, or a parameter cannot be set.</exception>
    public MethodWorkload(
        string name, IReadOnlyList<UserMember> methods, Func<IReadOnlyList<UserMember>> again, IReadOnlyDictionary<string, string> parameters)
    {
        Name = name;
        _again = again;
        _parameters = parameters;
        _copies.Add(new MethodCopy(methods, parameters));
    }

    public string Name { get; }

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        _copies[0].SetUp(spec);
        _setup = Stopwatch.GetElapsedTime(start);
        return default;
    }

    public async ValueTask CopyAsync(int copies)
    {
        while (_copies.Count < copies && _setup <= LongestSetup)
        {
            MethodCopy? copy = null;
            try
            {
                copy = new MethodCopy(_again(), _parameters);
                copy.MakeObjects();
            }
            catch (Exception)
            {
                // What cannot be there twice, such as a port that it opens, is measured as it is.
                await CleanUpAsync(copy is null ? [] : [copy]);
                return;
            }

            _copies.Add(copy);
        }
    }

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        _round++;
        return default;
    }

    public Operation CreateOperation(WorkerContext context) => _copies[_round % _copies.Count].CreateOperation(context);

    public async ValueTask CleanupAsync()
    {
        if (await CleanUpAsync(_copies) is { } first)
        {
            ExceptionDispatchInfo.Throw(first);
        }
    }

    // Of each, whatever that of another throws.
    private static async Task<Exception?> CleanUpAsync(IReadOnlyList<MethodCopy> copies)
    {
        Exception? first = null;
        foreach (MethodCopy copy in copies)
        {
            try
            {
                await copy.CleanUpAsync();
            }
            catch (Exception e)
            {
                first ??= e;
            }
        }

        return first;
    }
}
