namespace Weir.Tables.Startup;

/// <summary>Each arm once a round, in a process of its own, in an order that rotates.</summary>
internal static class ProcessTurns
{
    /// <summary>Measures.</summary>
    /// <param name="arms">The arms: a key, and what starts the process.</param>
    /// <param name="rounds">How many processes each arm is measured in.</param>
    /// <param name="parse">Reads what a process printed.</param>
    /// <param name="progress">Is told of each round.</param>
    /// <returns>A reading a round for each arm.</returns>
    /// <exception cref="WrongResultException">A process failed.</exception>
    public static async Task<Dictionary<string, List<TReading>>> MeasureAsync<TReading>(
        IReadOnlyList<(string Key, Func<Task<ChildEnd>> Start)> arms, int rounds, Func<string, TReading> parse, TextWriter progress)
    {
        Dictionary<string, List<TReading>> readings = arms.ToDictionary(static arm => arm.Key, static _ => new List<TReading>());
        await RoundRunner.TakeTurnsAsync(arms.Count, round => round < rounds, TurnAsync, CancellationToken.None, async round =>
        {
            await progress.WriteLineAsync(Invariant($"round {round + 1} of {rounds}"));
            return true;
        });
        return readings;

        async Task<RoundEnd> TurnAsync(int index, int round)
        {
            (string key, Func<Task<ChildEnd>> start) = arms[index];
            ChildEnd end = await start();
            readings[key].Add(end.Code == 0 ? parse(end.Output.Trim()) : throw new WrongResultException(key, $"{key} failed with exit code {end.Code}."));
            return RoundEnd.Next;
        }
    }
}
