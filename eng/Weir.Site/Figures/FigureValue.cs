using System.Globalization;

namespace Weir.Site.Figures;

/// <summary>How a cell of the results is written in a sentence.</summary>
public static class FigureValue
{
    private static readonly (string Unit, decimal Seconds)[] Units = [("ns", 1e-9m), ("us", 1e-6m), ("ms", 1e-3m), ("s", 1)];

    /// <param name="cell">The cell.</param>
    /// <param name="column">What is above it, which says whether it is bytes or a rate.</param>
    /// <param name="parts">By how many a time is divided, such as the messages of a run.</param>
    /// <exception cref="SiteException">The cell is no time, though it is to be divided.</exception>
    public static string Of(string cell, string column, decimal parts)
    {
        if (column.StartsWith("B ", StringComparison.Ordinal))
        {
            return Bytes(decimal.Parse(cell, NumberStyles.Number, CultureInfo.InvariantCulture) / parts);
        }

        if (Seconds(cell) is not { } time)
        {
            return parts == 1 ? cell : throw new SiteException($"'{cell}' in the column '{column}' is no time, and cannot be divided by {parts}.");
        }

        decimal seconds = time / parts;
        (string name, decimal one) = Units.Last(u => u.Seconds <= seconds || u.Unit == Units[0].Unit);
        return $"{Digits(seconds / one)} {name}";
    }

    /// <summary>How often a second something happens that happens so often in a time.</summary>
    /// <param name="cell">The time.</param>
    /// <param name="column">What is above it.</param>
    /// <param name="count">How often it happens in the time.</param>
    /// <exception cref="SiteException">The cell is no time.</exception>
    public static string Rate(string cell, string column, decimal count)
    {
        decimal rate = count / (Seconds(cell) ?? throw new SiteException($"'{cell}' in the column '{column}' is no time, so it gives no rate."));
        return rate switch
        {
            >= 1e6m => $"{Digits(rate / 1e6m)} M/s",
            >= 1e4m => $"{Digits(rate / 1e3m)} k/s",
            _ => $"{Digits(rate)}/s",
        };
    }

    /// <summary>How many cycles of the processors a part took: their time, which is that of the run on so many of them, by the clock.</summary>
    /// <param name="time">The time of a run.</param>
    /// <param name="cores">How many processors it kept busy.</param>
    /// <param name="clock">The clock in GHz.</param>
    /// <param name="parts">How many parts a run has, such as its messages.</param>
    /// <exception cref="SiteException">The time is none.</exception>
    public static string Cycles(string time, string cores, decimal clock, decimal parts) =>
        Seconds(time) is { } seconds
        ? Digits(seconds * decimal.Parse(cores, CultureInfo.InvariantCulture) * clock * 1e9m / parts)
        : throw new SiteException($"'{time}' is no time, so it gives no cycles.");

    private static decimal? Seconds(string cell) =>
        cell.Split(' ') is [var number, var unit] && Units.FirstOrDefault(u => u.Unit == unit) is { Unit: not null } one
        ? decimal.Parse(number, NumberStyles.Number, CultureInfo.InvariantCulture) * one.Seconds
        : null;

    private static string Bytes(decimal bytes) => bytes < 1000 ? $"{Digits(bytes)} B" : $"{Digits(bytes / 1000)} KB";

    // Two digits where there is a point: the tables have more.
    private static string Digits(decimal value) => value switch
    {
        < 0.05m => "0",
        < 9.95m => value.ToString("0.0", CultureInfo.InvariantCulture),
        _ => value.ToString("N0", CultureInfo.InvariantCulture),
    };
}
