namespace Weir.Cli.Commands.Load.Work;

/// <summary>The failure of an item that <c>--fail-rate</c> selected.</summary>
internal sealed class IntendedFailureException(int item)
    : Exception(string.Create(CultureInfo.InvariantCulture, $"Item {item} is meant to fail."));
