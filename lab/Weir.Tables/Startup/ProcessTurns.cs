using Weir.Lab.Workers;
using static System.FormattableString;

namespace Weir.Tables.Startup;

/// <summary>Each arm once a round, in a process of its own, in an order that rotates.</summary>
internal static class ProcessTurns
{
    /// <summary>Measures.</summary>
    /// <param name="keys">The arms.</param>
    /// <param name="rounds">How many processes each arm is measured in.</param>
    /// <param name="run">Starts the process of an arm, and gives its exit code and what it printed.</param>
    /// <param name="parse">Reads what it printed.</param>
    /// <param name="progress">Is told of each round, and of a process that fails.</param>
    /// <returns>A reading a round for each arm; <see langword="null"/> when a process failed.</returns>
    public static async Task<Dictionary<string, List<TReading>>?> MeasureAsync<TReading>(
        IReadOnlyList<string> keys, int rounds, Func<string, Task<(int ExitCode, string Output)>> run, Func<string, TReading> parse, TextWriter progress)
    {
        Dictionary<string, List<TReading>> readings = keys.ToDictionary(static key => key, static _ => new List<TReading>());
        bool isWhole = await RoundRunner.TakeTurnsAsync(keys.Count, round => round < rounds, TurnAsync, CancellationToken.None, async round =>
        {
            await progress.WriteLineAsync(Invariant($"round {round + 1} of {rounds}"));
            return true;
        });
        return isWhole ? readings : null;

        async Task<RoundEnd> TurnAsync(int index, int round)
        {
            (int code, string line) = await run(keys[index]);
            if (code != 0)
            {
                await progress.WriteLineAsync($"{keys[index]} failed with exit code {code}.");
                return RoundEnd.Over;
            }

            readings[keys[index]].Add(parse(line.Trim()));
            return RoundEnd.Next;
        }
    }
}
