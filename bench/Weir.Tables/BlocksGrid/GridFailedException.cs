namespace Weir.Tables.BlocksGrid;

/// <summary>A cell could not be measured, because the blocks of one library did not do what they should.</summary>
internal sealed class GridFailedException(string message, Exception? inner = null) : Exception(message, inner);
