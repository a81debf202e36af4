namespace Weir.Tables.SelfChecks;

/// <summary>Runs of the <c>weir</c> command, whose results are kept. Those that are there are not measured again, so a check can be done in parts.</summary>
/// <param name="command">The command.</param>
/// <param name="keep">Where the results are.</param>
/// <param name="progress">Where each new result is told.</param>
internal sealed class KeptRuns(WeirCommand command, DirectoryInfo keep, TextWriter progress)
{
    /// <summary>Runs it, or reads what is kept.</summary>
    /// <param name="name">The name of the result.</param>
    /// <param name="neighbours">How many threads of this process keep processors busy meanwhile.</param>
    /// <param name="arguments">The verb and what it is given.</param>
    /// <param name="said">What is told of it.</param>
    /// <param name="cancellationToken">Kills it.</param>
    /// <exception cref="InvalidOperationException">It came to no result.</exception>
    public async Task<ResultFile> RunAsync(
        string name, int neighbours, IReadOnlyList<string> arguments, Func<ResultFile, string> said, CancellationToken cancellationToken)
    {
        DirectoryInfo folder = new(Path.Combine(keep.FullName, name));
        if (WeirCommand.Read(folder, arguments) is { } kept)
        {
            return kept;
        }

        cancellationToken.ThrowIfCancellationRequested();
        using Neighbours busy = new(neighbours);
        ResultFile result = await command.RunAsync(arguments, folder, cancellationToken);
        await progress.WriteLineAsync(Invariant($"{name}: {said(result)}, {result.Seconds:0} s"));
        return result;
    }

    /// <summary>Runs two commands in turns.</summary>
    /// <param name="runs">How often each.</param>
    /// <param name="neighbours">How many threads of this process keep processors busy meanwhile.</param>
    /// <param name="first">The name of its results, and the one.</param>
    /// <param name="second">The name of the results of the other, and the other.</param>
    /// <param name="said">What is told of a result.</param>
    /// <param name="cancellationToken">Kills it.</param>
    /// <exception cref="InvalidOperationException">One came to no result.</exception>
    public async Task<(IReadOnlyList<ResultFile> First, IReadOnlyList<ResultFile> Second)> InTurnsAsync(
        int runs, int neighbours, (string Name, IReadOnlyList<string> Arguments) first, (string Name, IReadOnlyList<string> Arguments) second,
        Func<ResultFile, string> said, CancellationToken cancellationToken)
    {
        List<ResultFile>[] all = [[], []];
        for (int i = 1; i <= runs; i++)
        {
            all[0].Add(await RunAsync(Invariant($"{first.Name}-{i:00}"), neighbours, first.Arguments, said, cancellationToken));
            all[1].Add(await RunAsync(Invariant($"{second.Name}-{i:00}"), neighbours, second.Arguments, said, cancellationToken));
        }

        return (all[0], all[1]);
    }

    /// <summary>All results whose names begin so, of whatever day.</summary>
    /// <param name="prefix">What the names begin with.</param>
    /// <param name="arguments">The arguments that they must be of.</param>
    public IReadOnlyList<ResultFile> All(string prefix, IReadOnlyList<string> arguments) => !keep.Exists ? [] :
    [
        .. keep.EnumerateDirectories(prefix + "*").OrderBy(static d => d.Name, StringComparer.Ordinal)
            .Select(d => WeirCommand.Read(d, arguments)).OfType<ResultFile>(),
    ];
}
