"""The data sets that can be fetched: their files, the digests of the numbers in them, terms and citations."""

from typing import NamedTuple

from torchrank.datasets.sources import Source

APA_COMPLETE = Source(
    "apa/APAred.rda",
    "cran/ConsRank",
    "b6d42ebf0f0a53cde578b9a4e0359dcf04af9c3c",
    "data/APAred.rda",
    "39c608c80b16bd8c56d5b1f54077e911747360b6d77d13e85a2b0b53f1a43da2",
)
APA_PARTIAL = Source(
    "apa/APAFULL.rda",
    "cran/ConsRank",
    "b6d42ebf0f0a53cde578b9a4e0359dcf04af9c3c",
    "data/APAFULL.rda",
    "48113ba60f6aebc31c7756cbe3a80ff3887af7082914a5135223a9e3a1bce7ca",
)
EUROVISION = Source(
    "eurovision/eurovision.rda",
    "cran/Rankcluster",
    "4a98e0f1e903fe881e98f4f900650274d2fee85c",
    "data/eurovision.rda",
    "2c9594e6a379c3c8dc3fc941b8b8bf9b277d7a910c711cb2d05a9fd01e239870",
)
SUSHI = Source(
    "sushi/sushi_rankings.rda",
    "ocbe-uio/BayesMallows",
    "b1f045fd38e229bfa3c0e1bcdec20b97e0f4c123",
    "data/sushi_rankings.rda",
    "de6e797faba4519e6cbc76e818f49be317d99e6f62d44be37cda0519ce9a6f2b",
)


class LabelRankingSet(NamedTuple):
    """A label-ranking set: how many features, then ranks, its table has, and the digest of both side by side."""

    n_features: int
    digest: str

    def source(self, name: str) -> Source:
        """Its file."""
        file = "cpu" if name == "cpu-small" else name
        return Source(
            f"label_ranking/{file}.csv",
            "alfaro96/scikit-lr",
            "251aec165e92f95b33ad72b3d5a955795ca87478",
            f"sklr/datasets/data/label_ranking/{file}.csv",
            self.digest,
        )


LABEL_RANKING = {
    name: LabelRankingSet(*known)
    for name, known in {
        "authorship": (70, "9b273ba6e0eda84260a8c87396f3cf6a44c0c86ccd20eb28876fcf4f4b3a02da"),
        "bodyfat": (7, "1eee6ed61ec56bb6064d002c03fdd3fa09e4656a06411d44df962309abaa7bce"),
        "calhousing": (4, "a16214c26cf676b32a7d916d48e4ad9f16a666c633ab9e6f95a445cc491375bb"),
        "cold": (24, "eaf907e6bacd34dab3d0a4580967400f835c2fb763bdfd6b997a269cd7cabc10"),
        "cpu-small": (6, "867338db2405ccb8cffcd66cfa2c1a5704336dafa506b5c52e6f8d4a766c89d3"),
        "diau": (24, "103293badd76ad7baed0716303ce107278e1c7b9b2750f54418f03e5be9e92a7"),
        "dtt": (24, "67f196f95c58e6dc60410e4a082ed9e55fc1a5df167872b7646b5523e09b8a2a"),
        "elevators": (9, "8962233ea1cee0f65b01d3a160bb094f3dd439de008f50e79317943622876b2e"),
        "fried": (9, "03d04ddfa0f801379d9ed3dfa7ef4f18def3a96bb8e09d94d6b771d01535e9c7"),
        "glass": (9, "e35f30604c9ad4b03be8b7f724172dc4c9b532ce76efbea44ba1e53abd999e9d"),
        "heat": (24, "3f8cc226e475670b486ccaf50398bad030c6e611488ea03e5e819a90289d13c3"),
        "housing": (6, "b782075aafe9fb8f5eeaca527392c16621e0fc80ef7cd6bf8092c547a7eefb54"),
        "iris": (4, "860820217c022b871bc006fddbea60bc90243f28fdcefe0a0022d4ec33b7635b"),
        "pendigits": (16, "3403bcea4a8d1d7eeaf98e58dd14b3171c6351152b1fea00ec210b3ddc5eb755"),
        "segment": (18, "1bc2d350ac39e9bbfd289c393fc5f3de1029ff5458b06e94c4d282ba79e209b3"),
        "spo": (24, "699dfa9a513439131fc0290682553d6c5b5e576844160e276e055fb6802e6987"),
        "stock": (5, "9fbacbaf59e4df90ccffac60269f20c3c0764005aa905a6ce16cda227fc91dd4"),
        "vehicle": (18, "9a879ddf3b6c882f4caf44a039a225a3c84a52f3241054948db88108e10f88c7"),
        "vowel": (10, "1fa4398e8d6ef955704cdde5b0c29e3d80cdd76e56d0033c97f0946b7b142e22"),
        "wine": (13, "a8e778a6800fda7e1c42b7bbf4dc6f0627add3a8fec0f6a22417101afb3befcd"),
        "wisconsin": (16, "7346c90964166e2b184d3846819a40d6d2538160792c6cc352487d5a137a9c8e"),
    }.items()
}


class ExpressionSet(NamedTuple):
    """A gene-expression set.

    Attributes:
        source: its file; the digest is of the class indices and, beside them, the expressions, in float32.
        name: the R object in it, a list with the matrices x, or xtrain and perhaps xtest, and the classes y, ...
        classes: what the file calls the classes 0 and 1.
        class_names: what they are.
        title: what was compared.
        citation: the study.
        test: the rows that the authors of the study, or of the file, set aside for testing.
    """

    source: Source
    name: str
    classes: tuple[str, str]
    class_names: tuple[str, str]
    title: str
    citation: str
    test: slice | None = None


def _kendall(name: str, digest: str) -> Source:
    repository, commit = "YunlongJiao/kendallkernel_demo", "36cfa95c0f97d5ae543795d9dcd2d9380e68b1fc"
    path = f"geneexpr/data/{name}.rda"
    return Source(f"gene_expression/{name}.rda", repository, commit, path, digest, "<f4")


def _microarray(name: str, digest: str) -> Source:
    repository, commit = "ramhiser/datamicroarray", "a95f6f68ed3debf48ee54f198435fa12aa655b16"
    return Source(f"gene_expression/{name}.RData", repository, commit, f"data/{name}.RData", digest, "<f4")


COLON_GENES = Source(  # the digest is of the characters of the names, one a line
    "gene_expression/Colon.rda",
    "cran/plsgenomics",
    "8c770daf139b94f6dd073529a53863d6db902a98",
    "data/Colon.rda",
    "c4b27e8c0de43698133871a4545e0f252f1366c0e80afd041c44e5691870b235",
)
EXPRESSION = {
    "colon": ExpressionSet(
        _kendall("ct", "0bd6a9d6ee2a878dba822fa22451cf5348555493901646992677797f196bcee5"),
        "ct",
        ("negative", "positive"),
        ("tumour", "normal"),
        "Colon: tumour and normal tissue",
        "U. Alon et al., PNAS 96(12), 1999, 6745-6750",
    ),
    "medulloblastoma": ExpressionSet(
        _kendall("cns", "da3dd803c86c5ca572691cb665325b9ff2f3a7f7bcb776ee0ac8dcaa41ca54dc"),
        "cns",
        ("Class0", "Class1"),
        ("Class0", "Class1"),
        "Medulloblastoma: Class0 survived, Class1 died",
        "S. L. Pomeroy et al., Nature 415, 2002, 436-442",
    ),
    "prostate1": ExpressionSet(
        _kendall("pc", "83794a8bb906034cfe23a839fea8c690bf8197a68a54cc437a39fdd47195a95c"),
        "pc",
        ("Normal", "Tumor"),
        ("Normal", "Tumor"),
        "Prostate: tumour and normal tissue",
        "D. Singh et al., Cancer Cell 1(2), 2002, 203-209",
        slice(102, None),
    ),
    "prostate2": ExpressionSet(
        _kendall("pcout", "52d415ab72850f6cc833bdf786853e0ff7dafb6dd5c8c1f71f2fbcb93dcb9ef6"),
        "pcout",
        ("Non-relapse", "Relapse"),
        ("Non-relapse", "Relapse"),
        "Prostate: relapse after the operation or none",
        "D. Singh et al., Cancer Cell 1(2), 2002, 203-209",
    ),
    "lung_adenocarcinoma": ExpressionSet(
        _kendall("lung_annarbor_outcome", "2894464161819505694477a14a371bd6e69316eb43e6e2d958bef6de0aaa7d77"),
        "lung_annarbor_outcome",
        ("-1", "1"),
        ("-1", "1"),
        "Lung adenocarcinoma: outcome, as coded in the file",
        "D. G. Beer et al., Nature Medicine 8(8), 2002, 816-824",
    ),
    "lung_cancer2": ExpressionSet(
        _microarray("gordon", "059e6f4ccf717aa5f13ddd235dac57fb199afd341168d94baa7a3a3ef5b91780"),
        "gordon",
        ("adenocarcinoma", "mesothelioma"),
        ("adenocarcinoma", "mesothelioma"),
        "Lung cancer: adenocarcinoma and mesothelioma",
        "G. J. Gordon et al., Cancer Research 62(17), 2002, 4963-4967",
    ),
    "leukemia": ExpressionSet(
        _microarray("golub", "309b76a4b0158c51ad7a5ea0c14314892ca9602694f09d424f9efff2de5ee404"),
        "golub",
        ("ALL", "AML"),
        ("ALL", "AML"),
        "Leukemia: acute lymphoblastic and acute myeloid",
        "T. R. Golub et al., Science 286(5439), 1999, 531-537",
        slice(0, 34),
    ),
    "dlbcl": ExpressionSet(
        _microarray("shipp", "a7546cca5f8cd1887236ecbba47dbd6768175c624398650b2ebfb7e2bf061683"),
        "shipp",
        ("DLBCL", "FL"),
        ("DLBCL", "FL"),
        "Lymphoma: diffuse large B-cell and follicular",
        "M. A. Shipp et al., Nature Medicine 8(1), 2002, 68-74",
    ),
}
EXPRESSION_LICENSES = {
    "YunlongJiao/kendallkernel_demo": "not stated; the experiments' own files of Jiao and Vert, from public sources",
    "ramhiser/datamicroarray": "MIT (the R package datamicroarray)",
}


def _davis(path: str, digest: str) -> Source:
    commit = "a546a8433a6822e958f36171c4356ad6f414d623"
    return Source(f"davis/{path}", "hkmztrk/DeepDTA", commit, f"data/davis/{path}", digest)


DAVIS_LABELS = _davis(
    "drug-target_interaction_affinities_Kd__Davis_et_al.2011v1.txt",
    "f8e82f7ad65956e413bf919d3d4f8893fd2d9ed52b73baaa8362ff7b83db7f2f",
)
DAVIS_DRUGS = _davis(
    "drug-drug_similarities_2D.txt", "8d24f6ab09facd9a5d49e6ca668ab2a1ba86db5c09c64e3cf7c43312a3553150"
)
DAVIS_TARGETS = _davis(
    "target-target_similarities_WS.txt", "176e8c132abc1407886bcce502a1caef06b28cd1e04e11237a7eda115ed62f4c"
)
DAVIS_DRUG_NAMES = _davis(
    "ligands_can.txt", "c41b6facce5c01788e8cd85027eccee590cfb11dbf66950821dab1a1dd7396b2"
)  # digests of the characters of the names, one a line
DAVIS_TARGET_NAMES = _davis("proteins.txt", "b82f048f47a94fea841bc8f465c39873188a51f4753a6cb77818ac362658a9ab")


class Network(NamedTuple):
    """A Yamanishi set: tables of targets by drugs, of drugs by drugs, and of targets by targets."""

    labels: Source
    drugs: Source
    targets: Source
    title: str


def _yamanishi(path: str, digest: str) -> Source:
    commit = "96b132d86f5f45e0520b9edbec4a8b87e31db107"
    return Source(f"yamanishi/{path}", "stephenliu0423/PyDTI", commit, f"datasets/{path}", digest)


YAMANISHI = {
    "nuclear_receptor": Network(
        _yamanishi("nr_admat_dgc.txt", "f0916180ed60c16f693c61c4f7c496fbed48d447e2b3fd62fdb98a1a7a0b466e"),
        _yamanishi("nr_simmat_dc.txt", "46532f5f9dbbeb0f4ae26139f32f1c1d59af0667983df6f53d92b3e58f7c8e66"),
        _yamanishi("nr_simmat_dg.txt", "384d9f5ea1c75009c4bf700544b08185c5ec3b5f7b3fd57904ef0081142108e5"),
        "Nuclear receptors",
    ),
    "gpcr": Network(
        _yamanishi("gpcr_admat_dgc.txt", "3dcca057bc36eb9c7bad4ecaa6ec0d2fa5f9113787a27feb999726f1512a2260"),
        _yamanishi("gpcr_simmat_dc.txt", "2b5ef51a3e1ddd6979a1290712f185d0fe0d9ee6b4a0f1ffa3ef847f1317d0f6"),
        _yamanishi("gpcr_simmat_dg.txt", "cf06e2bee44b73a6b1213f5066e37ffc96acb9143df990c2724bc11f8bdbb96b"),
        "G-protein-coupled receptors",
    ),
    "ion_channel": Network(
        _yamanishi("ic_admat_dgc.txt", "4e12781ec7614a20d28907d042484fde7e0327e9892f3c19312aba090ca63913"),
        _yamanishi("ic_simmat_dc.txt", "fb4617585394a1a78cecce0a3f4daee07c8bdb1431e28db680c31c58ffcb309c"),
        _yamanishi("ic_simmat_dg.txt", "7f939619630a20bb9278b55de9c9b5ac4c8f1851b861a6d0bc37a430a7340b58"),
        "Ion channels",
    ),
    "enzyme": Network(
        _yamanishi("e_admat_dgc.txt", "70192a855bbade2daec4551e9ec40557289ac829fdf7d1936b6327c6a910169c"),
        _yamanishi("e_simmat_dc.txt", "c1c71d98aa901ad7ff853b03464f1068cce9cf9c673dd08d34c072204b3a72d8"),
        Source(
            "yamanishi/e_simmat_proteins_ppi.txt",
            "sudiptap/KronRLSMKLStacking",
            "b4db36e9bf4f4472378ed8a2b797edd5b71e04a2",
            "data/kernels/e_simmat_proteins_ppi.txt",
            "08cff2d4cfe7627d899d34948c86f992fb0510ac32e48b84a50134a656a09d67",
        ),
        "Enzymes",
    ),
}
