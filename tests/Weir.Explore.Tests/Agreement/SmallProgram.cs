using System.Globalization;

namespace Weir.Explore.Tests.Agreement;

/// <summary>
/// A program of two or three threads, each with a few operations of one kind of objects, chosen by a seed. It runs on the platform as on Explore's models, and
/// ends with what each operation has noted.
/// </summary>
internal abstract class SmallProgram
{
    private readonly List<(string Name, Func<Task<string>>? Run, Func<Begun>? Begin)> _operations = [];

    /// <summary>Called before each operation, with its thread and number, on the platform alone: the explorer's copy of this class has none.</summary>
    public static Action<int, int>? Pause { get; set; }

    /// <summary>Whether a task that an operation began may never end. It is given some time.</summary>
    protected bool MayNeverEnd { get; init; }

    protected int MostThreads { get; init; } = 3;

    protected int MostSteps { get; init; } = 3;

    /// <summary>Which operations a thread may make: all, if there is nothing that only one may do.</summary>
    protected virtual (int From, int To) OfThread(int thread) => (0, _operations.Count);

    /// <summary>What is left when all threads have ended. It lets go on what waits.</summary>
    protected virtual Task<string> EndAsync() => Task.FromResult("");

    protected void Add(string name, Func<string> run) => AddAsync(name, () => Task.FromResult(run()));

    protected void Add(string name, Action run) => Add(name, () =>
    {
        run();
        return "-";
    });

    protected void AddAsync(string name, Func<Task<string>> run) => _operations.Add((name, run, null));

    /// <summary>An operation that begins what ends later: how it ended is noted when all threads have ended.</summary>
    protected void AddLater(string name, Func<Task> begin) => _operations.Add((name, null, () => new Begun(begin(), static _ => "ended")));

    protected void AddLater<T>(string name, Func<Task<T>> begin) =>
        _operations.Add((name, null, () => new Begun(begin(), static t => ((Task<T>)t).Result!.ToString()!)));

    public string Describe(int seed) =>
        string.Join(" | ", Threads(seed).Select(steps => string.Join("; ", steps.Select(s => _operations[s].Name))));

    public async Task<string> RunAsync(int seed)
    {
        int[][] steps = Threads(seed);
        Begun?[][] later = [.. steps.Select(static s => new Begun?[s.Length])];
        string[] seen = await Task.WhenAll(steps.Select((s, thread) => Task.Run(() => ThreadAsync(thread, s, later[thread]))));
        string left = await EndAsync();
        Begun[] begun = [.. later.SelectMany(static l => l).OfType<Begun>()];
        if (MayNeverEnd && begun.Length > 0)
        {
            await Task.WhenAny(Task.WhenAll(begun.Select(static b => b.Task)), Task.Delay(30));
        }

        string ends = "";
        foreach (Begun one in begun)
        {
            ends += $" {(MayNeverEnd && !one.Task.IsCompleted ? "pending" : await HowAsync(one.Task, one.Result))}";
        }

        return $"{string.Join(" | ", seen)} :{ends} {left}";
    }

    protected static string Bit(bool value) => value ? "1" : "0";

    protected static string Number(int value) => value.ToString(CultureInfo.InvariantCulture);

    /// <summary>How a task ends.</summary>
    protected static Task<string> HowAsync(Task<int> task) => HowAsync(task, static t => Number(((Task<int>)t).Result));

    private static async Task<string> HowAsync(Task task, Func<Task, string> result)
    {
        try
        {
            await task;
            return result(task);
        }
        catch (Exception error)
        {
            return Short(error);
        }
    }

    private static string Short(Exception error) => error.GetType().Name.Replace("Exception", "", StringComparison.Ordinal);

    /// <summary>Which operations each thread makes.</summary>
    public int[][] Threads(int seed)
    {
        Random random = new(seed);
        int[][] all = new int[random.Next(4) == 0 ? MostThreads : 2][];
        for (int i = 0; i < all.Length; i++)
        {
            int[] steps = new int[random.Next(1, Math.Min(all.Length == 3 ? 2 : 3, MostSteps) + 1)];
            for (int step = 0; step < steps.Length; step++)
            {
                (int from, int to) = OfThread(i);
                steps[step] = random.Next(from, to);
            }

            all[i] = steps;
        }

        return all;
    }

    private async Task<string> ThreadAsync(int thread, int[] steps, Begun?[] later)
    {
        string[] seen = new string[steps.Length];
        for (int i = 0; i < steps.Length; i++)
        {
            Pause?.Invoke(thread, i);
            (_, Func<Task<string>>? run, Func<Begun>? begin) = _operations[steps[i]];
            try
            {
                if (run is not null)
                {
                    seen[i] = await run();
                }
                else
                {
                    later[i] = begin!();
                    seen[i] = Bit(later[i]!.Task.IsCompleted);
                }
            }
            catch (Exception error)
            {
                seen[i] = Short(error);
            }
        }

        return string.Join(' ', seen);
    }

    private sealed record Begun(Task Task, Func<Task, string> Result);
}
